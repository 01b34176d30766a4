/** Defines a row of the table: what is measured, what it is compared with, and its goals. */
export interface Row {
  /** Number of the goal; a letter after it marks a related figure. */
  readonly id: string;
  readonly what: string;
  readonly against: string;
  /** Highest value (with `least: true`, lowest) to pass and to be excellent; absent without a goal. */
  readonly pass?: number;
  readonly excellent?: number;
  readonly least?: true;
  /** Unit of the figure; without it, the figure is a ratio. */
  readonly unit?: 'ms' | 's' | 'MB' | '%' | 'µs' | 'count';
  measure(): Promise<number>;
}

export interface Figure extends Omit<Row, 'measure'> {
  /** Undefined if it could not be measured; `problem` says why. */
  readonly value?: number;
  readonly problem?: string;
}
