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
  ...['beam search', 'generation', 'trees forward', 'trees train step'].map((example) => ({
    ...common,
    title: `plain against by hand: ${example}`,
    kind: 'plainExample',
    unit: 'us',
    example,
  })),
];
