/** The style of the HTML report: light or dark as the reader's machine is set, legible in print, and never a colour as the only sign. */
import { trustHtml } from './text.ts';

export const STYLE = trustHtml`
:root{color-scheme:light dark;--page:#fbfbfa;--card:#fff;--ink:#1b1f24;--soft:#5b6470;--line:#dcdfe3;--good:#1a7f4b;--bad:#b42318;--doubt:#9a6700;--step:#3867d6;--open:#2a9d8f;--flight:#858f9b;--area:#3867d6}
@media (prefers-color-scheme:dark){:root{--page:#14171b;--card:#1b1f24;--ink:#e6e8eb;--soft:#9aa4b0;--line:#323840;--good:#4cc38a;--bad:#ff8f83;--doubt:#e2b340;--step:#82a4ff;--open:#4fd1c0;--flight:#6b7684;--area:#82a4ff}}
*{box-sizing:border-box}
body{margin:0;overflow-wrap:anywhere;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1120px;margin:0 auto;padding:24px 16px 64px}
h1{font-size:26px;margin:0 0 4px}
h2{font-size:18px;margin:36px 0 10px}
p{margin:0 0 8px}
.soft{color:var(--soft)}
.good,td.succeeded{color:var(--good)}.bad,td.failed{color:var(--bad)}.doubt,td.halted{color:var(--doubt)}.muted,td.skipped,td.left{color:var(--soft)}
.name{font-weight:600}.value{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.93em}
.outcome{display:inline-block;border:1px solid currentColor;border-radius:999px;padding:0 10px;font-weight:600;font-size:15px;vertical-align:middle;margin-left:8px}
dl.answers{display:grid;grid-template-columns:repeat(auto-fit,minmax(290px,1fr));gap:10px;margin:18px 0 0}
dl.answers>div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 12px;color:inherit;break-inside:avoid}
dl.answers>div.bad{border-color:var(--bad)}dl.answers>div.doubt{border-color:var(--doubt)}
dl.answers>div.good,dl.answers>div.bad{color:inherit}
div.good strong{color:var(--good)}div.bad strong{color:var(--bad)}div.doubt strong{color:var(--doubt)}
a{color:var(--step)}td:target{outline:2px solid var(--step);outline-offset:-2px}
dl.answers .reason{font-size:13px}
ol.life{margin:0;padding:0;list-style:none;min-width:260px}
dt{color:var(--soft);font-size:13px}
dd{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding:8px 12px;font-size:13px}
th,td{text-align:left;padding:5px 12px;border-top:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
th{font-size:13px;color:var(--soft);font-weight:600;white-space:nowrap}
td.number,th.number{text-align:right;white-space:nowrap}
td.time{white-space:nowrap;color:var(--soft)}
.d1{padding-left:20px}.d2{padding-left:40px}.d3{padding-left:60px}.d4{padding-left:80px}
details{margin:8px 0}
summary{cursor:pointer}
pre{margin:0;padding:12px;overflow-x:auto;font:13px/1.45 ui-monospace,Menlo,Consolas,monospace}
.axis{display:block;width:100%;min-width:720px;height:auto;padding:8px 12px}
.axis text{fill:var(--soft);font:11px system-ui,sans-serif}
.axis .lane{fill:var(--ink);font-weight:600;font-size:12px}
.axis .tick{text-anchor:middle}
.axis .grid,.axis .base{stroke:var(--line);stroke-width:1}
.axis .bar{fill:var(--step)}.axis .bar.failed{fill:var(--bad)}.axis .bar.halted{fill:var(--doubt)}.axis .bar.skipped,.axis .bar.left{fill:var(--flight)}.axis .bar.armed{fill:var(--doubt);fill-opacity:.55}
.axis .life{fill:var(--flight)}.axis .life.open{fill:var(--open)}.axis .life.doubt{fill:var(--doubt)}.axis .life.ended{fill:var(--soft)}.axis .life.intended{fill:none}
.axis .fill{fill:var(--card);stroke:var(--ink);stroke-width:2}
.axis .mark{fill:var(--step)}.axis .mark.bad{fill:var(--bad)}.axis .mark.lost{fill:var(--doubt)}
.axis .tokens{fill:var(--area);fill-opacity:.35;stroke:var(--area);stroke-width:1}
.axis .limit{stroke:var(--bad);stroke-width:1;stroke-dasharray:5 4}
ul.key{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;padding:0 12px 10px;margin:0;color:var(--soft);font-size:13px}
@media print{:root{color-scheme:light}body{background:#fff;color:#000}details>*{display:block}.scroll{overflow:visible;border:0}.axis{min-width:0}main{max-width:none;padding:0}table{font-size:11px}th,td{padding:3px 5px}th,td.number,td.time,th.number{white-space:normal}ol.life{min-width:0}tr,li{break-inside:avoid}thead{display:table-header-group}.axis *,.outcome{print-color-adjust:exact}}
`;
