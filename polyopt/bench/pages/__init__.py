"""Measurements as tables, JSON, charts and pages."""
