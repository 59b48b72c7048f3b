"""Planning of walks: rounds, overlays, links with slots, and absences."""
