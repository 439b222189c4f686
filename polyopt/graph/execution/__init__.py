"""Compiled networks: kernels, one arena for tensors, runs, profiles and exports."""
