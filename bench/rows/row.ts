/** One line of the table: what is measured, against what, and how well it should do. */
export interface Row {
  /** Number of the goal; a letter behind it for what belongs to it. */
  readonly id: string;
  readonly what: string;
  readonly against: string;
  /** At most (`least: true`: at least) this to pass, and to be excellent; absent where nothing was promised. */
  readonly pass?: number;
  readonly excellent?: number;
  readonly least?: true;
  /** What the figure is: a ratio when absent. */
  readonly unit?: 'ms' | '%' | 'µs' | 'count';
  measure(): Promise<number>;
}

export interface Figure extends Omit<Row, 'measure'> {
  /** Undefined when it could not be measured; `problem` says why. */
  readonly value?: number;
  readonly problem?: string;
}
