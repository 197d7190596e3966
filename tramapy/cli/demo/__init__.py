"""The main job on real input, scene by scene."""
