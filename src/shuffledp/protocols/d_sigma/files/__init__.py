"""Estimates by place from files."""
