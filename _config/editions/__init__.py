"""Publish an edition: one version everywhere, its artifacts, and the archive of all editions."""
