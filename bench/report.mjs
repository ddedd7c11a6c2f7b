// Rows as text and as a page.

function cell({ best, noise }) {
  const shown = noise === undefined ? '' : ` (${noise.toFixed(2)})`;
  return `${best >= 100 ? best.toFixed(0) : best.toPrecision(3)}${shown}`;
}

const cells = ({ figures, note }) =>
  [
    ...Object.entries(figures).map(([who, figure]) => `${who} ${cell(figure)}`),
    ...(note === undefined ? [] : [note]),
  ].join(' | ');

/** One row for a terminal. */
export function asText(row) {
  return `${row.name.padEnd(48)} ${row.unit.padEnd(8)} ${cells(row)}`;
}

/** What the figures mean, and where they come from. */
export function footer({ processor, node, date, rounds }) {
  return `${processor}, Node ${node}, ${date}; best of ${rounds} alternating rounds, in brackets median / best time.`;
}

/** All rows as a page. */
export function asMarkdown(report) {
  const lines = report.rows.map(
    (row) => `| ${row.name} | ${row.unit} | ${cells(row).replaceAll(' | ', '; ')} |`,
  );
  return [
    '# Measured',
    '',
    'Printed by `npm run bench -- --markdown`: single thread, peers in the same run, results checked against a float64 reference before timing. The machine is shared and its speed changes by the minute; compare within a row.',
    '',
    '| work | unit | figures |',
    '| --- | --- | --- |',
    ...lines,
    '',
    footer(report),
  ].join('\n');
}
