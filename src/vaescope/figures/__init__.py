"""Figures from results: charts for the pages (Vega-Lite), and figures of studies (matplotlib)."""
