// Sorts the table by the column whose heading is clicked, and hides the rows that lack a word of the filter.
(() => {
  const body = document.querySelector("#runs tbody"), rows = [...body.rows], filter = document.querySelector("#filter");
  const texts = new Map(rows.map(row => [row, row.textContent.toLowerCase()]));
  const valueOf = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
  document.querySelectorAll("#runs thead th").forEach((heading, column) => heading.querySelector("button")?.addEventListener("click", () => {
    const up = heading.ariaSort !== "ascending";
    document.querySelectorAll("#runs thead th").forEach(other => { other.ariaSort = null; });
    heading.ariaSort = up ? "ascending" : "descending";
    const numbers = heading.classList.contains("n");
    rows.sort((first, second) => {
      const one = valueOf(first, column), other = valueOf(second, column);
      const order = numbers ? one - other : one.localeCompare(other, undefined, { numeric: true });
      // What was not measured stays at the end.
      return (one === "") - (other === "") || (up ? order : -order);
    });
    body.append(...rows);
  }));
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    rows.forEach(row => { row.hidden = !words.every(word => texts.get(row).includes(word)); });
  });
})();
