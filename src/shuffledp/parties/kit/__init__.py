"""Kit of a collection: a folder to copy to each party's machine, with all files except its keys.

In reading order: `party_roles`, what each party runs and keeps; then `units` and `proxies`, the texts of its files;
then `folders`, which writes them. The examples under ``deploy/`` are made by the same functions. On a machine at work:
`doctor` (examination, with `proxy_files` and `trial_report`) and `old_states`.
"""
