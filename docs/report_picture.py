"""Take the pictures of a report for README.md: ``python docs/report_picture.py``.

It needs playwright, and a Chromium on the path or playwright's own.
"""

import runpy
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent

if __name__ == "__main__":
    comparison = runpy.run_path(str(HERE / "verdict_picture.py"))["compared"]()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        data = "3,000 simulated queries, about 40 documents each, grades 0 to 4."
        report = comparison.to_html(Path(folder) / "report.html", title="Which of 3 rankers is best?", data=data)
        installed = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=installed, args=["--no-sandbox"])
        for theme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 1000, "height": 540}, color_scheme=theme)
            page.goto(report.as_uri())
            page.screenshot(path=HERE / "_static" / f"report-{theme}.png")
        browser.close()
