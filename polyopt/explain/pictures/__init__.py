"""Pictures: domains, tiles, arrows, windows, graphs and plots, as SVG or by matplotlib."""
