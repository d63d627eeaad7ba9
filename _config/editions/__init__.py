"""What belongs to publishing an edition: one version everywhere, what is handed out, and the shelf."""
