"""Entropy, mutual information and binning: written once, used everywhere."""
