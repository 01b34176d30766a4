/**
 * Answers an editor's questions about open texts: the same checks as `validate`, over what is being typed. Pure but for `disk`,
 * which reads what is not open. Paths are as the editor has them.
 */
import { dirname, join } from 'node:path';
import {
  type Diagnostic,
  type PlacedDiagnostic,
  placeDiagnostic,
  type SourceText,
  sortForReading,
} from '../../base/diagnostic.ts';
import type { ScheduleLint } from '../../runbook/check.ts';
import { formatDocument } from '../../runbook/document/format.ts';
import { detectKind, type FileKind } from '../files/kinds.ts';
import { dryRun, readInputs } from '../library.ts';
import { type Analysis, analyse, type Load } from './analysis.ts';
import { type InlayHint, type Lens, listInlayHints, listLenses } from './annotations.ts';
import { type Completion, complete } from './completion.ts';
import { type Fix, listFixes } from './fixes.ts';
import { type Hover, hover } from './hover.ts';
import { type Renaming, rename } from './rename.ts';
import { findSymbol, type NamedPlace } from './symbols.ts';

export interface Disk {
  /** The runbook NAME.yaml beside a file; undefined where there is none. */
  loadBeside(path: string, name: string): SourceText | undefined;
  /** The findings of a file that is no runbook, whose text may differ from the one on the disk. */
  checkOther(source: SourceText, kind: FileKind): readonly Diagnostic[];
}

interface Open {
  readonly source: SourceText;
  readonly kind: FileKind | undefined;
  analysis?: Analysis;
  found?: readonly PlacedDiagnostic[];
}

export class LanguageService {
  private readonly open = new Map<string, Open>();
  private readonly disk: Disk;
  private readonly now: () => number;
  private readonly scheduleLint: ScheduleLint | undefined;

  constructor(disk: Disk, now: () => number, scheduleLint?: ScheduleLint) {
    this.disk = disk;
    this.now = now;
    this.scheduleLint = scheduleLint;
  }

  /** A text was opened or has changed. What it may concern is checked anew when it is next asked about. */
  update(path: string, text: string): void {
    this.forget(path);
    this.open.set(path, { source: { file: path, text }, kind: detectKind(path, text) });
  }

  close(path: string): void {
    this.forget(path);
    this.open.delete(path);
  }

  /**
   * A text has changed, or is on the disk now, from where the checks of others read it. Callers and tests of a runbook lie in its folder;
   * every other text stays as it was found.
   */
  forget(path: string): void {
    for (const [other, each] of this.open) {
      const concerned =
        dirname(other) === dirname(path) && (each.kind !== 'runbook' || each.source.text.includes('call'));
      if (!concerned) continue;
      delete each.analysis;
      delete each.found;
    }
  }

  listOpen(): readonly string[] {
    return [...this.open.keys()];
  }

  /** As `validate --json` has them; empty for a file of another program. */
  diagnose(path: string): readonly PlacedDiagnostic[] {
    const open = this.open.get(path);
    if (open?.kind === undefined) return [];
    open.found ??= sortForReading(
      (open.kind === 'runbook' ? this.analysis(path)?.diagnostics : this.disk.checkOther(open.source, open.kind)) ?? [],
    ).map(placeDiagnostic);
    return open.found;
  }

  complete(path: string, offset: number): readonly Completion[] {
    const open = this.runbook(path);
    return open === undefined ? [] : complete(path, open.source.text, offset, this.load(path));
  }

  hover(path: string, offset: number): Hover | undefined {
    return this.ask(path, (analysis) => hover(analysis, offset));
  }

  symbol(path: string, offset: number): NamedPlace | undefined {
    return this.ask(path, (analysis) => findSymbol(analysis, offset));
  }

  rename(path: string, offset: number, name: string): Renaming {
    const renaming = this.ask(path, (analysis) => rename(analysis, offset, name, this.load(path)));
    return renaming ?? { refused: 'this file is no runbook' };
  }

  fixes(path: string, start: number, end: number): readonly Fix[] {
    return this.ask(path, (analysis) => listFixes(analysis, start, end, this.load(path))) ?? [];
  }

  inlayHints(path: string, start: number, end: number): readonly InlayHint[] {
    return this.ask(path, (analysis) => listInlayHints(analysis, start, end)) ?? [];
  }

  lenses(path: string): readonly Lens[] {
    return this.ask(path, (analysis) => listLenses(analysis, this.now())) ?? [];
  }

  /** The text as `fmt` lays it out; undefined where it is not YAML or would not say the same. */
  format(path: string): string | undefined {
    const open = this.open.get(path);
    const done = open?.kind === undefined ? undefined : formatDocument(open.source);
    return done !== undefined && 'text' in done ? done.text : undefined;
  }

  /** One sentence on a dry-run with the default inputs. */
  async dryRun(path: string): Promise<string> {
    const analysis = this.analysis(path);
    if (analysis?.runbook === undefined) return 'the runbook has errors; a dry-run needs a valid one';
    const loaded = { runbook: analysis.runbook, sources: [{ name: analysis.runbook.name, source: analysis.source }] };
    const { report } = await dryRun(loaded, { inputs: readInputs(loaded), at: this.now() });
    const { outcome, reason, error, requests, orders } = report;
    const why = error?.message ?? reason;
    return `dry-run ${outcome}${why === undefined ? '' : `: ${why}`}; ${orders.length} orders, ${requests.length} requests`;
  }

  private ask<T>(path: string, question: (analysis: Analysis) => T): T | undefined {
    const analysis = this.runbook(path) === undefined ? undefined : this.analysis(path);
    return analysis === undefined ? undefined : question(analysis);
  }

  private runbook(path: string): Open | undefined {
    const open = this.open.get(path);
    return open?.kind === 'runbook' ? open : undefined;
  }

  private analysis(path: string): Analysis | undefined {
    const open = this.open.get(path);
    if (open === undefined) return undefined;
    open.analysis ??= analyse(open.source, this.load(path), this.scheduleLint);
    return open.analysis;
  }

  /** An open text comes before the one on the disk. */
  private load(path: string): Load {
    return (name) => this.open.get(join(dirname(path), `${name}.yaml`))?.source ?? this.disk.loadBeside(path, name);
  }
}
