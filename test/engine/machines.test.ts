/** Compares the remembered decisions with an XState actor of the same machine, event after event. */
import { describe, expect, it } from 'vitest';
import { type AnyStateMachine, createActor } from 'xstate';
import { type Decider, runMachine, startRunActor, startStepActor, stepMachine } from '../../src/engine/machines.ts';

interface Move {
  readonly from: string;
  readonly event: string;
  readonly to: string;
}

interface Observed {
  readonly initial: string;
  readonly moves: readonly Move[];
  /** Events that lead to each state from the first one. */
  readonly ways: ReadonlyMap<string, readonly string[]>;
}

/** The next states of actors of the machine, from each state by each event. */
function observeActors(machine: AnyStateMachine): Observed {
  const ledTo = (events: readonly string[]) => {
    const actor = createActor(machine).start();
    for (const type of events) actor.send({ type });
    return actor;
  };
  const initial = String(ledTo([]).getSnapshot().value);
  const ways = new Map<string, readonly string[]>([[initial, []]]);
  const moves: Move[] = [];
  for (const [from, way] of ways) {
    for (const event of machine.events) {
      const actor = ledTo(way);
      if (!actor.getSnapshot().can({ type: event })) continue;
      actor.send({ type: event });
      const to = String(actor.getSnapshot().value);
      moves.push({ from, event, to });
      if (!ways.has(to)) ways.set(to, [...way, event]);
    }
  }
  return { initial, moves, ways };
}

const STEP = { machine: stepMachine as AnyStateMachine, start: startStepActor as () => Decider<string> };
const RUN = { machine: runMachine as AnyStateMachine, start: startRunActor as () => Decider<string> };

describe.each([STEP, RUN])('the machine "$machine.id"', ({ machine, start }) => {
  const { initial, moves, ways } = observeActors(machine);
  const ledTo = (state: string) => {
    const actor = start();
    for (const event of ways.get(state) ?? []) actor.decide(event);
    return actor;
  };

  it('begins and moves as XState does, from every state by every event', () => {
    expect(start().state).toBe(initial);
    expect([...ways.keys()].sort()).toEqual(Object.keys(machine.states).sort());
    const ours = moves.map(({ from, event }) => {
      const actor = ledTo(from);
      return { from: actor.state, event, to: actor.decide(event) };
    });
    expect(ours).toEqual(moves);
  });

  it('throws at an event that its state does not take, and stays where it is', () => {
    const taken = new Set(moves.map(({ from, event }) => `${from} ${event}`));
    const refused = [...ways.keys()].flatMap((state) =>
      machine.events.filter((event) => !taken.has(`${state} ${event}`)).map((event) => ({ state, event })),
    );
    expect(refused.length).toBeGreaterThan(0);
    for (const { state, event } of refused) {
      const actor = ledTo(state);
      expect(() => actor.decide(event)).toThrow(`state ${state} does not take ${event}`);
      expect(actor.state).toBe(state);
    }
  });
});
