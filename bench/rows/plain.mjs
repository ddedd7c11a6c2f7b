// Plain control flow that was converted, against the code as it was written and against graphs by hand.
const section = 'Plain control flow';
const common = { section, kaonOnly: true, tiers: ['wasm'] };

export const rows = [
  {
    ...common,
    title: 'converted host loop, prime numbers below 200000',
    kind: 'hostLoop',
    unit: 'ms',
    limit: 200_000,
    targets: [{ who: 'kaon wasm converted', than: 'kaon wasm written', times: 1 }],
    build: () => ({ reference: Float64Array.of(17_984) }),
  },
  ...[
    { title: 'beam search' },
    { title: 'generation' },
    { title: 'trees forward', example: 'trees' },
    { title: 'trees train step', example: 'trees', trains: true },
  ].map(({ title, example = title, trains = false }) => ({
    ...common,
    title: `plain against by hand: ${title}`,
    kind: 'plainExample',
    unit: 'us',
    example,
    trains,
  })),
  ...['beam search', 'generation', 'trees'].map((example) => ({
    ...common,
    title: `capture, plain against by hand: ${example}`,
    kind: 'plainCapture',
    unit: 'us',
    example,
  })),
];
