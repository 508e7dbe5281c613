// On phones, the theme shows navigation and contents in a dialog. Close it when a link leads to another place.
document.addEventListener("click", (event) => {
  const link = event.target.closest("dialog[open] a[href]");
  if (link) link.closest("dialog").close();
});
