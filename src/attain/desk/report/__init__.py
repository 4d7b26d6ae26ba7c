"""Reports: one HTML file about a result, for analysts and case officers."""

from attain.desk.report.report import ENDINGS, write_report

__all__ = ["ENDINGS", "write_report"]
