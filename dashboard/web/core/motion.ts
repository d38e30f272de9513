/** Whether nothing on the page shall move by itself, as the user told the system. */
export const still = (): boolean => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
