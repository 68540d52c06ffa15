import { html, type Markup } from '../../../core/values/html.js';
import { buildFrame, type HtmlPageRequest } from '../crumbs.js';
import { apiStyles, page, sitePath } from '../layout.js';
import { anchor } from '../links.js';
import { directoryCrumbs } from './place.js';

/** Parameter in the document of a geoprocessing task. */
interface TaskParameter {
  readonly name: string;
  readonly dataType: string;
  readonly displayName: string;
  readonly description: string;
  readonly direction: string;
  readonly defaultValue: unknown;
  readonly parameterType: string;
  readonly choiceList?: readonly unknown[];
}

export interface TaskDocument {
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  readonly parameters: readonly TaskParameter[];
}

const REQUIRED = 'esriGPParameterTypeRequired';

/** The page of a geoprocessing task: its inputs as a form, with a button for each way to execute it. */
export function taskPage(x: HtmlPageRequest, task: TaskDocument): string {
  const { baseUrl, path } = x;
  const target = `${sitePath(baseUrl)}${path}`;
  const inputs = task.parameters.filter(({ direction }) => direction.endsWith('Input'));
  const main = inputs.filter(({ parameterType }) => parameterType === REQUIRED);
  const others = inputs.filter(({ parameterType }) => parameterType !== REQUIRED);
  const process = `${baseUrl}/ogc/processes/processes/${encodeURIComponent(task.name)}?f=html`;
  const body = html`<h1>${task.displayName}</h1>
<p class="lead">${task.description}</p>
<p class="operation-line"><code>${task.name}</code> ${anchor(`${baseUrl}${path}?f=pjson`, 'JSON')} · ${anchor(process, 'Form with maps, in OGC API Processes')}</p>
<form class="builder reference-form" method="post" action="${`${target}/submitJob`}" data-request="${`${target}/submitJob`}">
${main.map(field)}
${others.length > 0 ? html`<details${main.length === 0 ? html` open` : undefined}><summary>More parameters (${others.length})</summary><div class="builder-options">${others.map(field)}</div></details>` : undefined}
<input type="hidden" name="f" value="json">
<p class="actions"><button type="submit" class="button primary" data-send>submitJob: start a job</button> <button type="submit" class="button" formaction="${`${target}/execute`}">execute: wait for the result</button></p>
</form>
<div data-response aria-live="polite"></div>`;
  return page({
    ...buildFrame(x),
    title: `Task: ${task.displayName}`,
    crumbs: directoryCrumbs(baseUrl, path),
    body,
    head: apiStyles(baseUrl),
    scripts: ['docs.js'],
  });
}

/** Placeholders by data type. */
const EXAMPLES: readonly (readonly [RegExp, string])[] = [
  [/FeatureRecordSet/, '{"url":"/rest/services/default/FeatureServer/0"} or a feature set'],
  [/RasterDataLayer/, '{"url":"/rest/services/NAME/ImageServer"}'],
  [/^GPMultiValue/, '["A","B"]'],
];

function field({
  name,
  dataType,
  displayName,
  description,
  defaultValue,
  choiceList,
  parameterType,
}: TaskParameter): Markup {
  const required = parameterType === REQUIRED ? html` required` : undefined;
  const usual = defaultValue === null || defaultValue === undefined ? '' : String(defaultValue);
  const example = EXAMPLES.find(([pattern]) => pattern.test(dataType))?.[1];
  const control = choiceList
    ? html`<select name="${name}"${required}><option value="">${usual === '' ? 'not set' : `${usual} (default)`}</option>${choiceList.map((one) => html`<option>${String(one)}</option>`)}</select>`
    : example
      ? html`<textarea name="${name}" rows="2" spellcheck="false" placeholder="${example}"${required}></textarea>`
      : html`<input name="${name}" placeholder="${usual}" autocomplete="off" spellcheck="false"${required}>`;
  return html`<label><span>${displayName} <code>${name}</code></span>${control}<span class="muted">${description}</span></label>`;
}
