// What contestants that train have in common.

/** The parameters among the inputs of a case, each made into what `make(input)` gives. */
export function parametersOf(inputs, make) {
  const data = ['x', 'labels', 'hot'];
  const names = Object.keys(inputs).filter((name) => !data.includes(name));
  return Object.fromEntries(names.map((name) => [name, make(inputs[name])]));
}

/** Steps for each kind, where `trainer(network, inputs, case)` gives a function that makes a step and gives its loss. */
export function stepKinds(trainer, networks) {
  const step = (network) => (inputs, work) => ({
    run: trainer(network, inputs, work),
    result: async () => {
      const step = trainer(network, inputs, work);
      const losses = [];
      for (let i = 0; i < work.checked; i++) losses.push(await step());
      return losses;
    },
  });
  return Object.fromEntries(
    Object.entries(networks).map(([kind, network]) => [kind, { '': step(network) }]),
  );
}
