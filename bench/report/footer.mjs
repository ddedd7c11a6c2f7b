/** Where the figures come from, in a line. */
export function machine({
  adapter,
  processor,
  cores,
  node,
  date,
  rounds,
  threads,
  compiler,
  clock,
}) {
  if (adapter !== undefined) {
    return `${adapter}, by WebGPU; ${processor}, ${cores} cores, Node ${node}, ${date}; ${rounds} alternating rounds.`;
  }
  const share = threads === 1 ? 'one thread' : `${threads} threads`;
  return `${processor}, ${cores} cores, ${share} (but for the rows about threads), Node ${node}, C compiler for the native limits: ${compiler}, ${date}; ${rounds} alternating rounds${clock === 'cpu' ? ", the processor's time" : ''}.`;
}

/** Versions of who took part, and why others did not. */
export function footer({ versions, missing, rows }) {
  const numbers = Object.entries(versions).map(([name, list]) => {
    const parts = Object.entries(list).map(([what, version]) => `${what} ${version}`);
    return `- ${name}: ${parts.join(', ')}`;
  });
  const absent = Object.entries(missing).map(
    ([name, reason]) => `- ${name}: not available: ${reason.replaceAll(/\s+/g, ' ').slice(0, 300)}`,
  );
  const refused = rows.flatMap(({ title, refused }) =>
    refused.map(({ name, reason }) => {
      const [first] = reason.split('\n');
      return `- ${title}, ${name}: not measured: ${first}`;
    }),
  );
  const notes = rows.flatMap(({ title, figures }) =>
    Object.entries(figures)
      .filter(([, { note }]) => note !== undefined)
      .map(([name, { note }]) => `- ${title}, ${name}: ${note}`),
  );
  return [...numbers, ...absent, ...refused, ...notes].join('\n');
}
