"""Tests of the command line, and what other tests need to run it."""
