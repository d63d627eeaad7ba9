"""Properties that any attention must have, checked on your own code; a failure gives its reason."""
