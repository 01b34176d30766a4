/** Offers what a person may do to a run. Each action needs the person's name and the run's name, typed. */
import { post } from './api.js';
import { announce, append, element, replace } from './dom.js';

const ACTIONS = {
  approve: { word: 'Approve …', tone: 'primary', does: 'The step continues, with the plan shown to you.' },
  reject: {
    word: 'Reject …',
    tone: 'plain',
    does: 'The step fails as rejected; the runbook decides what happens then.',
  },
  cancel: {
    word: 'Stop cleanly …',
    tone: 'plain',
    does: 'The run starts nothing new, cleans up as its runbook says, and ends.',
  },
  kill: {
    word: 'Kill …',
    tone: 'danger',
    does: 'Engages the kill switch for every account of this state folder: no run sends new orders, and every open order is cancelled until nothing is left. It stays engaged until a named person releases it.',
  },
};

/** The buttons for a run, or for one question to a person. Empty if no action is possible. */
export function drawActions(run, context, done, approval = undefined) {
  if (!context.session.allowActions || run.mode !== 'live' || run.outcome !== undefined) return [];
  const offered = approval === undefined ? ['cancel', 'kill'] : ['approve', 'reject'];
  return element(
    'div.actions',
    {},
    offered.map((action) =>
      element(
        `button.${ACTIONS[action].tone}`,
        { type: 'button', on: { click: () => confirm(action, run, context, done, approval) } },
        ACTIONS[action].word,
      ),
    ),
  );
}

function confirm(action, run, context, done, approval) {
  const { word, tone, does } = ACTIONS[action];
  const by = element('input', {
    type: 'text',
    required: true,
    value: context.session.user,
    autocomplete: 'off',
    maxlength: 100,
  });
  const reason = element('input', { type: 'text', autocomplete: 'off', maxlength: 300 });
  const typed = element('input', {
    type: 'text',
    autocomplete: 'off',
    spellcheck: 'false',
    autocapitalize: 'off',
    on: { input: check },
  });
  const go = element(
    `button.${tone === 'plain' ? 'primary' : tone}`,
    { type: 'submit', disabled: true },
    word.replace(' …', ''),
  );
  const outcome = element('p.outcome', { role: 'status' });
  const cancel = element('button', { type: 'button', on: { click: () => dialog.close() } }, 'Do nothing');
  const dialog = element(
    'dialog.confirm',
    { 'aria-label': word, data: { tone }, on: { close: () => dialog.remove() } },
    element(
      'form',
      { on: { submit } },
      element('h2', {}, `${word.replace(' …', '')}: ${run.runbook}`),
      approval !== undefined && element('blockquote', {}, approval.ask),
      element('p', {}, does),
      element('label', {}, 'Who does it', by),
      element('label', {}, 'Why (kept in the journal)', reason),
      element('label', {}, ['To confirm, type ', element('code', {}, run.confirmation)], typed),
      outcome,
      element('div.buttons', {}, cancel, go),
    ),
  );
  append(document.body, dialog);
  dialog.showModal();
  typed.focus();

  function check() {
    go.disabled = typed.value.trim() !== run.confirmation || by.value.trim() === '';
  }

  async function submit(event) {
    event.preventDefault();
    if (typed.value.trim() !== run.confirmation) return;
    go.disabled = true;
    replace(
      outcome,
      action === 'kill' ? 'Engaging the kill switch; cancelling until no order is left …' : 'Recording …',
    );
    try {
      const answer = await post('/api/actions', {
        action,
        run: run.run,
        by: by.value,
        reason: reason.value,
        confirm: typed.value,
        ...(approval === undefined ? {} : { step: approval.step }),
      });
      replace(
        outcome,
        answer.lines.map((line) => element('span.block', {}, line)),
      );
      outcome.dataset.tone = answer.ok ? 'good' : 'bad';
      announce(answer.lines.join('. '));
      replace(cancel, 'Close');
      cancel.focus();
      done();
    } catch (error) {
      replace(outcome, error.message);
      outcome.dataset.tone = 'bad';
      check();
    }
  }
}
