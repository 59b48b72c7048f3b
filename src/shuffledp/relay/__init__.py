"""Walks of real reports: members pass them on through a server that sees who takes part, and learns nothing else.

To be read in this order: `member_keys` (who somebody is), `directory` (who takes part, fixed beforehand).
"""
