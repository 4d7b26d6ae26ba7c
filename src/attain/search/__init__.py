"""The parts searches are made of."""
