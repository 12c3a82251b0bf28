#!/usr/bin/env python3
"""Prints the table and draws it, as ../cnn24_table1/plot.py: python3 plot.py [FOLDER [OUTPUT.png]]"""
import importlib.util
import os

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("table1", os.path.join(HERE, "..", "cnn24_table1", "plot.py"))
table1 = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table1)

if __name__ == "__main__":
    table1.main("cnn24_table2", "CNN24, Table 2, on pairs of Fashion-MNIST images")
