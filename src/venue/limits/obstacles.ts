/**
 * Lists every code with which a request is not sent for another reason than a limit: what it means and what to do about it. The codes
 * are a contract as those of denials.ts are; a step whose request has one fails as `denied`.
 */
interface ObstacleRow {
  readonly summary: string;
  /** A situation in which it keeps a request back. */
  readonly example: string;
  readonly fix: string;
}

export const OBSTACLES = {
  JOURNAL_CONTRADICTED: {
    summary: 'this journal is not the newest of the account: something happened there that it does not know',
    example:
      'an older state folder put back, and then a `run`: the venue has an order of this program that no journal knows',
    fix: 'use the newest journal; where it is lost, find out what the orders did, then `runbook account adopt --profile FILE --by NAME`',
  },
  LEASE_LOST: {
    summary: 'another process acts for the account',
    example: 'a process that was suspended while another one resumed its run',
    fix: 'nothing: the other process has the run',
  },
  JOURNAL: {
    summary: 'the journal could not be written, and nothing new is sent without a record',
    example: 'a full disk, and a `place`',
    fix: 'make room, or get the store to answer; then `runbook resume`',
  },
  ANCHORS_FAILING: {
    summary: 'the anchors could not be written to one of their places for longer than `anchors.patience`',
    example: 'anchors: {webhook: {env: ANCHORS}} in the profile, and a receiver that is away for 10 min',
    fix: 'get the place to answer; cancels and heartbeats are sent meanwhile',
  },
  NO_SESSION: {
    summary: 'no session with the venue could be obtained',
    example: 'a refresh token that the venue refuses',
    fix: 'check the credentials with `runbook doctor`',
  },
  CLOCK_WRONG: {
    summary: 'a schedule started the run while neither the venue nor the store had shown that this clock is wrong',
    example: 'a machine whose clock is an hour ahead, and a venue that answers only once the run is under way',
    fix: 'set the time of the machine right; start by hand what is still wanted',
  },
  SESSION_FAILING: {
    summary: 'the session could not be renewed several times: nothing new is sent under it',
    example: 'a JWT near its end, and a venue that does not answer POST /jwt',
    fix: 'check the credentials with `runbook doctor`; cancels are sent meanwhile',
  },
  DEADLINE: {
    summary: 'the request could not leave in the time that it had: no tokens were free, or the journal was too slow',
    example: 'a step with `timeout: 5s` while other programs use up the tokens of the address',
    fix: 'give the step more time, or leave it more tokens (`rate_limit`)',
  },
  QUEUE_FULL: {
    summary: 'too many requests wait for tokens already',
    example: 'a loop that asks faster than the limit of the venue for a long time',
    fix: 'let it ask less often',
  },
  HEARTBEAT_TOKENS: {
    summary: 'the token limit is too low for the heartbeats of the deadman switch',
    example: 'rate_limit: {tokens: 60} in the profile, and deadman: {timeout: 5s, …} in several runs',
    fix: 'lengthen `deadman.timeout`, or run fewer at once',
  },
  STALE_INTENT: {
    summary: 'the order was decided too long ago, by a process that died or was stopped before it was sent',
    example: 'a laptop that slept between the decision and the order',
    fix: 'nothing: the market has moved since; catch `denied`, or start the run again',
  },
  GATE_STALE: {
    summary: 'each time the request could leave, what had been asked before was older than `gate.stale`',
    example: 'a machine that is suspended again and again, or a disk that takes longer than 250 ms',
    fix: 'give the process a machine that runs; only where the store is that slow raise `gate.stale`',
  },
  STEP_ENDED: {
    summary: 'the step of the request ended before it was sent',
    example: 'a step with `timeout: 5s` whose order still waits for the deadman switch',
    fix: 'nothing, or give the step more time',
  },
  NOT_CONFIRMED: {
    summary: 'the person who was asked said no',
    example: 'run --step, and the answer n',
    fix: 'nothing: it was meant',
  },
  INVALID_REQUEST: {
    summary: 'the request is not as the venue document wants it',
    example: 'a size that is computed as zero or below',
    fix: 'correct the expression that the message names',
  },
  UNKNOWN_REQUEST: {
    summary: 'a request that is not declared, or whose parameters cannot be made',
    example: 'request: {name: funding} of a run that is resumed under a profile without `requests.funding`',
    fix: 'declare it in the profile',
  },
  NOT_RECORDED: {
    summary: 'a reading made as a precaution is not in the recording that is played',
    example: 'dry-run --fixtures of a recording by an older version',
    fix: 'nothing: the run goes on without it',
  },
} as const satisfies Readonly<Record<string, ObstacleRow>>;

export type ObstacleCode = keyof typeof OBSTACLES;
