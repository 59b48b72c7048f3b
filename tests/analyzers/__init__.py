"""Analyzers, over made-up batches and enumerated laws."""
