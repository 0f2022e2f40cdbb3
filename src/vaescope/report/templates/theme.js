// Before the first paint: the reader's choice of colours, where it could be kept.
try {
  const chosen = localStorage.getItem("vaescope-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch (error) { /* no storage: the system's choice stands */ }
