"""Laws of walks with and without absences: positions of reports, loads of people, overlaps of positions."""
