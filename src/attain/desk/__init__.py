"""What delivers answers: letters, reports, the service, audit logs and folders of answers. No other room imports it."""
