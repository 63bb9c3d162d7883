// Logs and other runs are beside this page. One that was sent on by itself has them as text, without links to nothing.
(() => {
  const moved = document.getElementById("moved");
  if (decodeURIComponent(location.pathname).split("/").at(-2) === moved.dataset.folder) return;
  moved.hidden = false;
  document.querySelectorAll("[data-beside]").forEach(one => one.remove());
  document.querySelectorAll('a:not([href^="#"])').forEach(link => link.replaceWith(...link.childNodes));
})();
