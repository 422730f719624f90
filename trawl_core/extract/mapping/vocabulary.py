"""Which types of schema.org are a kind of which of the five."""

from __future__ import annotations

import re
from typing import Any

from trawl_core.extract.items import short_type

_OTHER_VOCABULARY = re.compile(r"https?://(?!(?:www\.)?schema\.org/)", re.IGNORECASE)

_SUBTYPES = {
    "Product": """Product IndividualProduct ProductModel ProductGroup ProductCollection SomeProducts DietarySupplement Drug Vehicle Car
        Motorcycle BusOrCoach MotorizedBicycle""",
    "Article": """Article NewsArticle AdvertiserContentArticle AnalysisNewsArticle AskPublicNewsArticle BackgroundNewsArticle
        OpinionNewsArticle ReportageNewsArticle ReviewNewsArticle SatiricalArticle Report ScholarlyArticle MedicalScholarlyArticle
        SocialMediaPosting BlogPosting LiveBlogPosting DiscussionForumPosting TechArticle APIReference""",
    "Event": """Event BusinessEvent ChildrensEvent ComedyEvent ConferenceEvent CourseInstance DanceEvent DeliveryEvent EducationEvent
        EventSeries ExhibitionEvent Festival FoodEvent Hackathon LiteraryEvent MusicEvent PerformingArtsEvent PublicationEvent
        BroadcastEvent OnDemandEvent SaleEvent ScreeningEvent SocialEvent SportsEvent TheaterEvent VisualArtsEvent""",
    "BreadcrumbList": "BreadcrumbList",
    "Organization": """Organization Airline Consortium Cooperative Corporation EducationalOrganization CollegeOrUniversity
        ElementarySchool HighSchool MiddleSchool Preschool School FundingScheme GovernmentOrganization LibrarySystem
        MedicalOrganization NGO NewsMediaOrganization OnlineBusiness OnlineStore OnlineMarketplace PerformingGroup DanceGroup MusicGroup
        TheaterGroup PoliticalParty Project FundingAgency ResearchProject ResearchOrganization SearchRescueOrganization
        SportsOrganization SportsTeam WorkersUnion LocalBusiness AnimalShelter ArchiveOrganization AutomotiveBusiness AutoBodyShop
        AutoDealer AutoPartsStore AutoRental AutoRepair AutoWash GasStation MotorcycleDealer MotorcycleRepair ChildCare Dentist
        DryCleaningOrLaundry EmergencyService FireStation Hospital PoliceStation EmploymentAgency EntertainmentBusiness AdultEntertainment
        AmusementPark ArtGallery Casino ComedyClub MovieTheater NightClub FinancialService AccountingService AutomatedTeller
        BankOrCreditUnion InsuranceAgency FoodEstablishment Bakery BarOrPub Brewery CafeOrCoffeeShop Distillery FastFoodRestaurant
        IceCreamShop Restaurant Winery GovernmentOffice PostOffice HealthAndBeautyBusiness BeautySalon DaySpa HairSalon HealthClub NailSalon
        TattooParlor HomeAndConstructionBusiness Electrician GeneralContractor HVACBusiness HousePainter Locksmith MovingCompany Plumber
        RoofingContractor InternetCafe LegalService Attorney Notary Library LodgingBusiness BedAndBreakfast Campground Hostel Hotel Motel
        Resort SkiResort VacationRental MedicalBusiness MedicalClinic Optician Pharmacy Physician ProfessionalService RadioStation
        RealEstateAgent RecyclingCenter SelfStorage ShoppingCenter SportsActivityLocation BowlingAlley ExerciseGym GolfCourse
        PublicSwimmingPool SportsClub StadiumOrArena TennisComplex Store BikeStore BookStore ClothingStore ComputerStore
        ConvenienceStore DepartmentStore ElectronicsStore Florist FurnitureStore GardenStore GroceryStore HardwareStore HobbyShop
        HomeGoodsStore JewelryStore LiquorStore MensClothingStore MobilePhoneStore MovieRentalStore MusicStore OfficeEquipmentStore
        OutletStore PawnShop PetStore ShoeStore SportingGoodsStore TireShop ToyStore WholesaleStore TelevisionStation
        TouristInformationCenter TravelAgency""",
}
_KIND_OF = {subtype.lower(): kind for kind, subtypes in _SUBTYPES.items() for subtype in subtypes.split()}


def kind_of(types: Any) -> str | None:
    """`Article` for `NewsArticle`, `schema:BlogPosting` or a list that holds one; None for other types and other vocabularies."""
    for entry in types if isinstance(types, list) else [types]:
        if not isinstance(entry, str) or _OTHER_VOCABULARY.match(entry):
            continue
        # Several types in one value are Microdata's way to write a list.
        for one in entry.split():
            if kind := _KIND_OF.get((short_type(one) or "").lower()):
                return kind
    return None
