import type { Clause } from '../../core/filter-clauses.js';
import type { FilterData } from '../../gateway/pages/page-data.js';
import { FilterForm } from './filter/form.js';
import { onThisOrigin, pageData } from './page.js';

/** The filter of a collection's page, and its statistics, whose bars become conditions of the filter. */

const place = document.querySelector<HTMLElement>('[data-filter-builder]');
if (place) {
  place.hidden = false;
  const data = pageData<FilterData>('filter-data');
  const form = new FilterForm(place.querySelector('form')!, data);
  connectStatistics(data, (clause) => form.add(clause));
}

function connectStatistics({ baseUrl }: FilterData, choose: (clause: Clause) => void): void {
  const link = document.querySelector<HTMLAnchorElement>('[data-statistics-link]');
  const target = link?.closest<HTMLElement>('[data-statistics-place]');
  if (!link || !target) return;
  link.setAttribute('role', 'button');
  link.addEventListener('keydown', (event) => {
    if (event.key === ' ') {
      event.preventDefault();
      link.click();
    }
  });
  link.addEventListener('click', async (event) => {
    event.preventDefault();
    const status = document.createElement('p');
    status.setAttribute('role', 'status');
    status.textContent = 'Reading the features …';
    target.append(status);
    link.hidden = true;
    try {
      const answer = await fetch(onThisOrigin(link.href, baseUrl));
      const read = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const part = read.querySelector<HTMLElement>('[data-statistics]');
      if (!part) throw new Error(read.querySelector('main')?.textContent ?? '');
      part.tabIndex = -1;
      target.replaceWith(part);
      part.focus({ preventScroll: true });
      part.addEventListener('click', (click) => chooseBar(click, choose));
    } catch {
      status.textContent = 'The statistics cannot be had now. ';
      link.hidden = false;
    }
  });
}

function chooseBar(event: MouseEvent, choose: (clause: Clause) => void): void {
  const bar = (event.target as Element).closest<HTMLElement | SVGElement>('[data-clause]');
  if (!bar || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  choose(JSON.parse(bar.dataset.clause!) as Clause);
}
