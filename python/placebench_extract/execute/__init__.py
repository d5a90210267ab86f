"""Runs a placement for real: a problem goes in as a JSON file, events come out as JSON lines (`protocol.py`)."""
