"""Numbers behind the theorems: plain functions of plain numbers, each erring on a stated side."""
