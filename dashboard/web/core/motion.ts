/** Whether the user's system settings ask for reduced motion. */
export const still = (): boolean => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
