"""What delivers answers to people: letters, reports, the service and audit logs. The library imports nothing of it."""
