/** A device that times every command of its programs and adds the programs to `programs`. */
export function measured(device, programs) {
  return new Proxy(device, {
    get(target, key) {
      if (key !== 'record') return typeof target[key] === 'function' ? target[key].bind(target) : target[key];
      return (options, body) => {
        const program = target.record({ ...options, profile: true }, body);
        programs.push({ program, before: null, after: null });
        return program;
      };
    },
  });
}

/** The name of a command with its launches, the same in all layers. */
function nameOf(command, index, dispatches) {
  const launches = dispatches.filter((dispatch) => dispatch.command === index);
  const kernels = launches.map(
    ({ kernel, groups, threads }) => `${kernel} ${groups.join('x')} of ${threads}`,
  );
  return `${command.label.replace(/^layer \d+ \/ /, '')}: ${kernels.join(', ') || command.kernel}`;
}

/**
 * Milliseconds and bytes of a step by kind of command, most expensive first; `before` and `after`: profiles around `steps` steps;
 * `bytesOf`: bytes that a command reads.
 */
export function kindsOf({ plan, dispatches, before, after, steps, bytesOf = () => 0 }) {
  const kinds = new Map();
  for (const [index, command] of plan.commands.entries()) {
    const name = nameOf(command, index, dispatches);
    const kind = kinds.get(name) ?? { name, count: 0, ms: 0, bytes: 0 };
    kinds.set(name, kind);
    kind.count += 1;
    kind.ms += (after[index].milliseconds - before[index].milliseconds) / steps;
    kind.bytes += bytesOf(command);
  }
  return [...kinds.values()].sort((a, b) => b.ms - a.ms);
}
