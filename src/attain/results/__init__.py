"""The one result type, `Counterfactuals`, with its statuses: as text, as HTML and as JSON."""
