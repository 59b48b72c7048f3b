"""A privacy engineer plans a collection: moves sliders on the planner's page, and copies the task file."""


def copied_task(browser, address, people):
    """What is in the clipboard at the end."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(address)
    page.locator("#people").fill(str(people))
    page.locator("#task").get_by_text(f"expected = {people}").wait_for(timeout=60_000)
    page.get_by_role("button", name="Copy the task file").click()
    page.get_by_text("Copied.").wait_for()
    task = page.evaluate("navigator.clipboard.readText()")
    context.close()
    return task
