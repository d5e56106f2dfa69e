/** Where a command writes. */
export interface CliOutput {
  /** Results. */
  out(text: string): void;
  /** Progress and errors. */
  err(text: string): void;
  /** True when progress may overwrite its own line. */
  readonly isTerminal: boolean;
}

/** Lays out rows in columns, two spaces apart; cells that look like numbers are right-aligned. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const columnCount = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columnCount }, (_, column) =>
    rows.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), 0),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return /^[\d.,]+( [kMGT]?B)?$/.test(cell) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

/** A byte count in decimal units, such as `2.61 GB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${bytes < 0 ? '-' : ''}${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`;
}

/** A byte count from a text such as `500MB`, `16 GiB` or `4096`; null if it is not a byte count. */
export function parseBytes(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?) ?(?:([kKMGT])(i?)B?|B)?$/.exec(text.trim());
  if (match === null) return null;
  const [, number, unit = '', binary = ''] = match;
  const power = ' KMGT'.indexOf(unit.toUpperCase() || ' ');
  return Math.round(Number(number) * (binary === 'i' ? 1024 : 1000) ** power);
}

/** Shows a text from untrusted files on a terminal: control characters become visible. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Reports progress on one line of a terminal, at most ten times a second; elsewhere it prints nothing. */
export function progressLine(output: CliOutput): { show(text: string): void; done(): void } {
  let lastMs = 0;
  let width = 0;
  return {
    show(text) {
      const nowMs = performance.now();
      if (!output.isTerminal || nowMs - lastMs < 100) return;
      lastMs = nowMs;
      output.err(`\r${text.padEnd(width)}`);
      width = text.length;
    },
    done() {
      if (width > 0) output.err(`\r${' '.repeat(width)}\r`);
    },
  };
}
