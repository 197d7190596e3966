"""`tramapy trace`: what operations did, from a dump of events or live from an exporter."""
