import type { PlaceText } from '../../core/geocoding/geocoding.js';

/** Countries in which the house number precedes the street. */
const NUMBER_FIRST = new Set(['AU', 'CA', 'FR', 'GB', 'IE', 'IN', 'LU', 'NZ', 'US', 'ZA']);

/** The street with the number of a house. */
function streetAddress({ houseNumber, street, countryCode }: PlaceText): string {
  if (street === '' || houseNumber === '') return street;
  const isFirst = NUMBER_FIRST.has(countryCode.toUpperCase().slice(0, 2));
  return isFirst ? `${houseNumber} ${street}` : `${street} ${houseNumber}`;
}

/** A place in one line, the smallest part first. */
export function formatPlaceLabel(place: PlaceText): string {
  const { name, neighborhood, city, subregion, region, postal, country, countryCode } = place;
  const parts = [
    ...[name, streetAddress(place), neighborhood, city, city === '' ? subregion : '', region, postal],
    country === '' ? countryCode : country,
  ];
  return parts.filter((part, i) => part !== '' && parts.indexOf(part) === i).join(', ');
}
