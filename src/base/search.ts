/** The first of `count` positions at which `holds` is true, and stays so from there on; `count` where it never is. By bisection. */
export function findFirst(count: number, holds: (position: number) => boolean): number {
  let low = 0;
  for (let high = count; low < high; ) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
