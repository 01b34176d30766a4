/**
 * Names the mutants that change nothing anyone can observe: the file, the line of its source, what the mutant replaces there, by
 * what, and why nothing can tell the two apart.
 */
export const EQUIVALENTS = [
  ...inFile('src/venue/deadman.ts', [
    {
      line: "if (state.status !== 'armed' || state.inFlight > 0 || state.lastQualifyingSentAt === undefined) return undefined;",
      from: 'state.lastQualifyingSentAt === undefined',
      to: 'false',
      why: 'an armed switch has the instant of the request that armed it',
    },
    {
      line: 'return heartbeatSentAt === undefined ? Number.POSITIVE_INFINITY : heartbeatSentAt + timeoutMs;',
      from: 'heartbeatSentAt === undefined',
      to: 'false',
      why: 'an armed switch has it; for one being disarmed the sum is NaN, which no instant exceeds either',
    },
    {
      line: "return state.status === 'armed' && state.removed !== true && until !== undefined && now <= until;",
      from: 'until !== undefined',
      to: 'true',
      why: 'no instant is at most undefined',
    },
    {
      line: 'const outdated = state.changedByStepAt !== undefined && event.sentAt < state.changedByStepAt;',
      from: 'state.changedByStepAt !== undefined',
      to: 'true',
      why: 'no instant is before undefined',
    },
    {
      line: 'if (state.removed === true || (last !== undefined && last >= sentAt)) return state;',
      from: 'last !== undefined',
      to: 'true',
      why: 'undefined is not at or after any instant',
    },
    {
      line: 'if (state.armedAt === undefined || sentAt <= state.armedAt || state.changedByStepAt !== undefined)',
      from: 'state.armedAt === undefined',
      to: 'false',
      why: 'an armed switch has the instant of the answer',
    },
  ]),
];

function inFile(file, mutants) {
  return mutants.map((mutant) => ({ file, ...mutant }));
}
