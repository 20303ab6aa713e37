"""The routes of the protocol, by who uses them: devices, administrators, readers of results."""
